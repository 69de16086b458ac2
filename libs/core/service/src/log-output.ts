import { type DestinationStream, levels, pino, symbols } from 'pino';

/** The longest time that a line is held. */
const HOLD_MS = 100;
/** PIPE_BUF of Linux: a pipe takes a write of up to this size whole, also while other processes write to it (POSIX, write). */
const ATOMIC_BYTES = 4_096;
const URGENT = levels.values.warn ?? 0;

interface LogOutput extends DestinationStream {
  /** Makes pino set `lastLevel` before each line. */
  readonly [symbols.needsMetadataGsym]: true;
  lastLevel: number;
}

/** The outputs of this process, which share one listener. */
const outputs = new Set<() => void>();
const flushAll = (): void => {
  for (const flush of outputs) flush();
};

/**
 * Standard output for the lines of a log, with few writes under load. A line is written at once if no hold period is open,
 * and opens one, of 100 ms; a line of level `warn` or higher is always written at once. Other lines are held until the
 * period ends, and then written together. A write is whole lines of at most 4 KiB, or one longer line, so processes that
 * share a pipe do not tear each other's lines. Lines are written in order, and before the process exits, also by an
 * uncaught error. A process that ends otherwise loses the held ones (docs/operations.md#stop-crash-restart).
 */
export function createLogOutput(): LogOutput {
  const output = pino.destination({ dest: 1, sync: true });
  let held = '';
  let heldBytes = 0;
  let timer: NodeJS.Timeout | undefined;

  const flush = (): void => {
    if (held === '') return;
    const lines = held;
    held = '';
    heldBytes = 0;
    output.write(lines);
  };
  const onTimer = (): void => {
    timer = undefined;
    flush();
  };
  outputs.add(flush);
  if (outputs.size === 1) process.on('exit', flushAll);
  return {
    [symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write(line: string): void {
      const bytes = Buffer.byteLength(line);
      if (heldBytes + bytes > ATOMIC_BYTES) flush();
      held += line;
      heldBytes += bytes;
      const isFirst = timer === undefined;
      timer ??= setTimeout(onTimer, HOLD_MS).unref();
      if (isFirst || this.lastLevel >= URGENT || heldBytes >= ATOMIC_BYTES) flush();
    },
  };
}
