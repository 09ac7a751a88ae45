// SPDX-License-Identifier: Apache-2.0
// Of a program that runs: the server says when there is more, and we fetch it all. Only in the page that plat view --live serves,
// before the other scripts.

globalThis.platFollow = async (App, readPacked) => {
  const { token } = JSON.parse(document.getElementById("live").textContent);
  const ask = async isLast => {
    const answer = await fetch(`data?token=${token}${isLast ? "&last=1" : ""}`);
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    return readPacked(await answer.arrayBuffer());
  };
  const app = globalThis.plat = new App([await ask()], true);
  const say = text => app.head.append(Object.assign(document.createElement("p"), { className: "said", textContent: text }));
  const events = new EventSource(`events?token=${token}`);
  let busy = false, isOver = false, asked = 0;
  // Answers may overtake each other: what was asked for last is the latest.
  const refresh = async () => {
    const number = ++asked, trace = await ask(isOver);
    if (number !== asked) return;
    app.traces = [trace];
    app.open(0, true);
  };
  events.addEventListener("more", async () => {
    if (busy || isOver) return;
    busy = true;
    try { await (app.refreshed = refresh()); } finally { busy = false; }  // kept for whoever waits until it is shown
  });
  // The server waits for this last question.
  events.addEventListener("end", async () => {
    isOver = true;
    events.close();
    app.live = false;
    try { await refresh(); } catch { /* it waits for some seconds only: what is shown stays */ }
    app.tellNumbers();
    say("The program has ended; this is the last that was seen.");
  });
  events.addEventListener("error", () => { if (events.readyState === EventSource.CLOSED) say("The server is gone."); });
};
