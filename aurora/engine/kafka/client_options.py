"""The options of Kafka's client that an address may give.

None of them loads a library, runs a command, or chooses what a run relies on.
"""

__all__ = ["CLIENT_OPTIONS"]

NETWORK = """
client.id client.rack client.dns.lookup message.max.bytes receive.message.max.bytes max.in.flight
max.in.flight.requests.per.connection topic.metadata.refresh.interval.ms metadata.max.age.ms
metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms socket.timeout.ms socket.send.buffer.bytes
socket.receive.buffer.bytes socket.keepalive.enable socket.nagle.disable socket.max.fails
socket.connection.setup.timeout.ms connections.max.idle.ms broker.address.ttl broker.address.family
reconnect.backoff.ms reconnect.backoff.max.ms retry.backoff.ms retry.backoff.max.ms api.version.request
api.version.request.timeout.ms api.version.fallback.ms broker.version.fallback allow.auto.create.topics
enable.metrics.push log_level debug log.connection.close
"""
SAFETY = """
security.protocol ssl.cipher.suites ssl.curves.list ssl.sigalgs.list ssl.key.location ssl.key.password ssl.key.pem
ssl.certificate.location ssl.certificate.pem ssl.ca.location ssl.ca.pem ssl.ca.certificate.stores ssl.crl.location
ssl.keystore.location ssl.keystore.password ssl.endpoint.identification.algorithm
enable.ssl.certificate.verification https.ca.location https.ca.pem sasl.mechanism sasl.mechanisms sasl.username
sasl.password sasl.kerberos.service.name sasl.kerberos.principal sasl.kerberos.keytab
sasl.kerberos.min.time.before.relogin enable.sasl.oauthbearer.unsecure.jwt sasl.oauthbearer.config
sasl.oauthbearer.method sasl.oauthbearer.client.id sasl.oauthbearer.client.credentials.client.id
sasl.oauthbearer.client.secret sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.scope
sasl.oauthbearer.extensions sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.grant.type
sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.private.key.file
sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.private.key.pem
sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include
sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub
sasl.oauthbearer.assertion.jwt.template.file
"""
READING = """
queued.min.messages queued.max.messages.kbytes fetch.wait.max.ms fetch.queue.backoff.ms fetch.message.max.bytes
max.partition.fetch.bytes fetch.max.bytes fetch.min.bytes fetch.error.backoff.ms isolation.level check.crcs
"""
WRITING = """
transaction.timeout.ms queue.buffering.max.kbytes queue.buffering.max.ms linger.ms message.send.max.retries retries
queue.buffering.backpressure.threshold compression.codec compression.type compression.level batch.num.messages
batch.size request.required.acks acks request.timeout.ms message.timeout.ms delivery.timeout.ms
sticky.partitioning.linger.ms
"""

CLIENT_OPTIONS = frozenset(f"{NETWORK} {SAFETY} {READING} {WRITING}".split())
