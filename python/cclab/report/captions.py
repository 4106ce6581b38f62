"""Title and caption of figures that are not over a factor; {n} is the number of runs."""

from __future__ import annotations

_ELLIPSE = "holds a further one with 95 %, if they are normally distributed."
_SAMPLES = "Samples of all runs, from the end of the warm-up on."

OF_SWEEPS = {
    "heatmap": ("Each pair", "Means of the runs, n = {n} at each point."),
    "trade": ("Goodput and delay", "A point is a run, the mean of a law's flows; an ellipse, of five or more "
              f"at one point of the sweep, {_ELLIPSE}"),
    "delay-cdf": ("Round-trip times", _SAMPLES),
    "delay-box": ("Round-trip times, in short", "The same samples."),
    "convergence": (
        "Time to convergence",
        "From the last flow's start until each is within 20 % of an equal share for five seconds; a point is a run.",
    ),
}  # fmt: skip
OF_LAWS = OF_SWEEPS | {
    "shares": ("Who takes what", "Mean share of the goodput of one flow, of n = {n} runs of each mixture, and its "
               "95 % interval (Student's t)."),
    "heatmap": ("Each beside each", "Means of n = {n} runs of each mixture. Harm is (solo − mixed) / solo of the "
                "goodput of those in the columns, solo being the same flows without the one in the row; on the "
                "diagonal one more of their own joins them. What is white was not run."),
    "trade": ("Goodput and delay", f"A point is a run; an ellipse, of five or more, {_ELLIPSE}"),
    "delay-cdf": ("Round-trip times of each among its own", _SAMPLES),
    "delay-box": ("Round-trip times in every mixture", _SAMPLES),
}  # fmt: skip
