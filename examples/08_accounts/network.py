"""The network of network.yaml in Python. Run it: python examples/08_accounts/network.py"""

from pathlib import Path

from accounts import balance, charge

from aurora import Network, run


def accounts() -> Network:
    net = Network("accounts")
    tolls = net.input("tolls", "Car int, Time int, Toll int")
    requests = net.input("requests", "Car int, Time int, Query int")
    charged = net.user(
        charge,
        inputs={"tolls": tolls},
        outputs={"charged": "Car int, Time int, Balance bigint"},
        key={"tolls": ["Car"]},
        relations=["accounts"],
        name="charge",
    )
    answers = net.user(
        balance,
        inputs={"requests": requests},
        outputs={"answers": "Query int, Car int, Time int, Balance bigint"},
        key={"requests": ["Car"]},
        relations=["accounts"],
        name="balance",
    )
    net.output("charged", charged)
    net.output("answers", answers)
    return net


if __name__ == "__main__":
    here = Path(__file__).parent
    sources = {"tolls": f"csv:{here / 'tolls.csv'}", "requests": f"csv:{here / 'requests.csv'}"}
    run(accounts(), sources, {"answers": "console"})
