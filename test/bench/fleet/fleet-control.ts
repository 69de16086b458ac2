/** Starts and stops the fleet of the bench, one after the other. */
export interface FleetControl {
  /** Starts what does not run. Resolves with the seconds of the start. Throws once the control is closed. */
  start(): Promise<number>;
  stop(): Promise<void>;
  /** Waits for a start under way, then stops the fleet for good. */
  close(): Promise<void>;
}

/** A start that is under way cannot be aborted, and a stop beside it would miss the processes that it is yet to start. */
export function createFleetControl(start: () => Promise<number>, stop: () => Promise<void>): FleetControl {
  let isClosed = false;
  let starting: Promise<unknown> = Promise.resolve();
  return {
    async start() {
      if (isClosed) throw new Error('the bench is ending');
      const started = start();
      // Whoever called start gets the error.
      starting = started.catch(() => {});
      return started;
    },
    stop,
    async close() {
      isClosed = true;
      await starting;
      await stop();
    },
  };
}
