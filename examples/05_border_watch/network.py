"""The network of network.yaml in Python. Run it: python examples/05_border_watch/network.py"""

from pathlib import Path

from aurora import Network, run


def border_watch(border: int = 30, soldiers: int = 3) -> Network:
    net = Network("border watch")
    reports = net.input("reports", "Sid int, Time int, Pos int")
    over = reports.filter(f"Pos >= {border}", name="over")
    crowd = over.aggregate(
        {"Cnt": "count(*)"}, order={"on": "Time", "slack": 1}, size=1, advance=1, name="crowd"
    )
    enough = crowd.filter(f"Cnt >= {soldiers}", name="enough")
    net.output("alarms", enough)
    return net


if __name__ == "__main__":
    here = Path(__file__).parent
    run(border_watch(), {"reports": f"csv:{here / 'reports.csv'}"}, {"alarms": "console"})
