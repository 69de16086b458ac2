import { type DestinationStream, levels, pino, symbols } from 'pino';

/** The longest time that a line is held. */
const HOLD_MS = 100;
/** Held lines are written when they are this long. */
const HOLD_CHARS = 16_384;
const URGENT = levels.values.warn ?? 0;

interface LogOutput extends DestinationStream {
  /** Makes pino set `lastLevel` before each line. */
  readonly [symbols.needsMetadataGsym]: true;
  lastLevel: number;
}

/**
 * Standard output for the lines of a log, with few writes under load. A line is written at once if none was written within
 * the last 100 ms, or if its level is `warn` or higher; other lines are held, for at most 100 ms and 16 KiB, and then
 * written together. Lines are written in order, and before the process exits, also by an uncaught error. A process that is
 * killed loses the held ones (docs/operations.md#stop-crash-restart).
 */
export function createLogOutput(): LogOutput {
  const output = pino.destination({ dest: 1, sync: true });
  let held = '';
  let timer: NodeJS.Timeout | undefined;

  const flush = (): void => {
    if (held === '') return;
    const lines = held;
    held = '';
    output.write(lines);
  };
  const onTimer = (): void => {
    timer = undefined;
    flush();
  };
  process.on('exit', flush);
  return {
    [symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write(line: string): void {
      held += line;
      const isFirst = timer === undefined;
      timer ??= setTimeout(onTimer, HOLD_MS).unref();
      if (isFirst || this.lastLevel >= URGENT || held.length >= HOLD_CHARS) flush();
    },
  };
}
