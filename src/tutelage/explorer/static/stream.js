// Events of a growing computation; closing the stream stops the computation on the server.
const LOST = { error: "The connection to the server was lost." };

export function follow(address, { progress, traces, done, failed }) {
  const events = new EventSource(address);
  const close = () => events.close();
  const told = (event) => JSON.parse(event.data);
  events.addEventListener("progress", (event) => progress(told(event)));
  events.addEventListener("traces", (event) => traces(told(event)));
  events.addEventListener("done", (event) => {
    close();
    done(told(event));
  });
  events.addEventListener("failed", (event) => {
    close();
    failed(told(event));
  });
  // Without closing, the browser would ask again, and the runs would begin anew.
  events.addEventListener("error", () => {
    close();
    failed(LOST);
  });
  return close;
}
