// SPDX-License-Identifier: Apache-2.0
// What plat check found, and the way from there to the block.

import { make, many, timeText } from "./words.js";

// Severity and rule stand above it.
function withoutTitle({ severity, rule, text }) {
  const title = `${severity}: ${rule}: `;
  return text.startsWith(title) ? text.slice(title.length) : text;
}

export class Findings {
  constructor(place, app) {
    this.place = place;
    this.app = app;
    this.current = -1;
  }

  update() {
    const { findings, failedCalls, notes } = this.app.trace;
    const errors = findings.filter(finding => finding.severity === "error").length;
    this.place.replaceChildren(make("p", { class: "said" }, findings.length === 0 ? this.nothing()
      : `${many(errors, "error")}, ${many(findings.length - errors, "warning")}. Choose one to see its block; [ and ] go through them.`),
      ...notes.map(note => make("p", { class: "note" }, note)),
      make("ol", { class: "findings" }, ...findings.map((finding, i) => make("li", { "data-finding": i, class: i === this.current ? "current" : "" },
        make("button", { class: "link", onclick: () => this.app.showFinding(i) },
          make("span", { class: finding.severity === "error" ? "badge bad-badge" : "badge" }, finding.severity), " ", make("b", {}, finding.rule)),
        finding.ns > 0 ? ` at ${timeText(finding.ns)}` : "",
        make("pre", {}, withoutTitle(finding))))),
      ...(failedCalls.length === 0 ? [] : [make("h2", {}, "Calls that returned an error"), make("p", { class: "said" }, "No mistake by themselves: many a program asks, and then does something else."),
        ...failedCalls.map(text => make("pre", { class: "failed" }, text))]));
  }

  nothing() {
    const { trace: { process }, live } = this.app;
    if (!process.judged) return "Another tool recorded this, without the calls: nothing can be judged.";
    return live ? "plat check finds nothing wrong so far. What is left is judged at the end." : "plat check finds nothing wrong in this run.";
  }

  show(index) {
    const { trace, axis } = this.app, finding = trace.findings[index];
    if (!finding) return;
    this.current = index;
    const life = finding.lives.find(one => one >= 0) ?? -1;
    if (life >= 0) {
      this.app.jump(life, finding.ns > 0 ? finding.ns : undefined);
    } else if (finding.ns > 0) {
      axis.reveal(finding.ns);
      axis.choose(finding.ns);
    }
    this.update();
    this.place.querySelector(`[data-finding="${index}"]`)?.scrollIntoView({ block: "nearest" });
  }

  next(by) {
    const count = this.app.trace.findings.length;
    if (count > 0) this.show(((this.current < 0 && by < 0 ? 0 : this.current) + by + count) % count);
  }
}
