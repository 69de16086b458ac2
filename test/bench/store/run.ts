/** One round of an operation in this process. */
export interface Run {
  /** Operations per second. */
  readonly rate: number;
  /** Processor time of all threads of this process for each operation, in µs. */
  readonly cpuUs: number;
  /** Of each operation, in ms. */
  readonly latencies: readonly number[];
}

/** Repeats an operation for `forMs`, `parallel` at a time; it gets the number of its caller and of the repetition. */
export function runOf(
  parallel: number,
  forMs: number,
  operation: (caller: number, at: number) => Promise<void>,
): Promise<Run> {
  return measured(async (latencies, startedAt) => {
    const call = async (_: unknown, caller: number): Promise<void> => {
      let from = performance.now();
      for (let at = 0; from - startedAt < forMs; at += 1) {
        await operation(caller, at);
        const now = performance.now();
        latencies.push(now - from);
        from = now;
      }
    };
    await Promise.all(Array.from({ length: parallel }, call));
  });
}

/** Repeats an operation that does not wait. */
export function runSync(forMs: number, operation: (at: number) => void): Promise<Run> {
  return measured(async (latencies, startedAt) => {
    let from = performance.now();
    for (let at = 0; from - startedAt < forMs; at += 1) {
      operation(at);
      const now = performance.now();
      latencies.push(now - from);
      from = now;
    }
  });
}

async function measured(repeat: (latencies: number[], startedAt: number) => Promise<void>): Promise<Run> {
  const latencies: number[] = [];
  const [cpu, startedAt] = [process.cpuUsage(), performance.now()];
  await repeat(latencies, startedAt);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { rate: latencies.length / seconds, cpuUs: (user + system) / latencies.length, latencies };
}
