// Requests of one slot: one at a time; of the requests that arrive meanwhile only the newest is sent.
import { Cancelled, Failure } from "./source.js";

const SUPERSEDE_MILLISECONDS = 300; // after which a newer request replaces one that is still running
const SILENCE = 400; // ms before the page says that it waits
const POLL = 500; // ms between questions how far the server is
const BUSY = 503; // all processes compute; the request is made again
const AGAIN = 1500; // ms later
const TRIES = 10;
const CANCELLED = "The server cancelled this request. Move a control to draw again.";
let count = 0; // of requests; the server gives up those of smaller numbers

export class Requests {
  waiting = null; // text on what the server is doing, for slow requests
  #next = null;
  #flight = null; // {started, abort}
  #timers = [];

  // arrived(picture), failed(problem), changed(): there is something else to say.
  constructor(slot, source, { arrived, failed, changed }) {
    Object.assign(this, { slot, source, arrived, failed, changed });
  }

  get busy() {
    return this.#flight !== null;
  }

  // state: a function, called when the request is sent, since the last picture may change it.
  ask(view, state, part = "") {
    this.#next = { view, state, part };
    if (!this.#flight) this.#send();
    else if (performance.now() - this.#flight.started > SUPERSEDE_MILLISECONDS) this.#flight.abort.abort();
  }

  // Whatever is under way is no longer wanted.
  drop() {
    this.#next = null;
    this.#flight?.abort.abort();
  }

  stop() {
    this.drop();
    this.source.stop(this.slot);
  }

  async #send() {
    const { view, state, part, tries = 0 } = this.#next;
    this.#next = null;
    const abort = new AbortController();
    this.#flight = { started: performance.now(), abort };
    this.#watch();
    try {
      const options = { slot: this.slot, part, number: (count += 1), signal: abort.signal };
      const picture = await this.source.picture(view, state(), options);
      if (!abort.signal.aborted) this.arrived(picture);
    } catch (problem) {
      if (problem.status === BUSY && !this.#next && tries < TRIES) {
        await new Promise((later) => setTimeout(later, AGAIN));
        if (!abort.signal.aborted) this.#next ??= { view, state, part, tries: tries + 1 };
      } else if (!(problem instanceof Cancelled)) this.failed(problem);
      else if (!abort.signal.aborted && !this.#next) this.failed(new Failure(CANCELLED));
    }
    this.#flight = null;
    if (this.#next) return this.#send();
    this.#unwatch();
    this.changed();
  }

  #watch() {
    if (this.#timers.length) return;
    const look = async () => {
      const told = await this.source.progress(this.slot).catch(() => ({}));
      if (!this.#timers.length) return;
      this.waiting = told.message || told.state || "computing";
      this.changed();
    };
    const first = setTimeout(() => {
      look();
      this.#timers.push(setInterval(look, POLL));
    }, SILENCE);
    this.#timers.push(first);
  }

  #unwatch() {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    this.waiting = null;
  }
}
