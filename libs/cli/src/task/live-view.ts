import type { PeerTask } from '@hermes-fleet/a2a/client';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Streams } from '../command-line/command.ts';
import { type LiveTask, lineOf, nextView } from './live-task.ts';

export type Screen = ReturnType<typeof screenOf>;

export interface LiveView extends Disposable {
  update(task: PeerTask): void;
  /** The line is not drawn until `resume`, while something else uses the terminal. */
  pause(): void;
  resume(): void;
}

const TICK_MS = 1_000;
const CLEAR = '\r\u001b[2K';

/** The terminal that shows progress. NO_COLOR leaves out colours (https://no-color.org), TERM=dumb all control codes. */
export function screenOf(stream: Streams['stderr'], env: NodeJS.ProcessEnv) {
  const isTerminal = stream.isTTY === true && env.TERM !== 'dumb';
  return {
    isTerminal,
    colours: isTerminal && !env.NO_COLOR,
    width: () => stream.columns || 80,
    write: (text: string): unknown => stream.write(text),
  };
}

/**
 * Draws one line for a task and redraws it with every update and every second. Without a terminal, it prints a line when the
 * task gets another state, peer or reason to wait. Disposing removes the line. `deadlineAt` is in milliseconds since the epoch.
 */
export function createLiveView(screen: Screen, clock: Clock, deadlineAt: number | undefined): LiveView {
  const startedAt = clock.monotonic();
  const deadlineMs = deadlineAt === undefined ? undefined : deadlineAt - clock.now();
  let view: LiveTask | undefined;
  let printed = '';
  let paused = false;
  let timer: Disposable | undefined;

  const line = (task: LiveTask): string =>
    lineOf(task, {
      elapsedMs: clock.monotonic() - startedAt,
      deadlineMs,
      width: screen.isTerminal ? screen.width() : 200,
      colours: screen.colours,
    });
  const draw = (): void => {
    timer?.[Symbol.dispose]();
    if (paused || view === undefined) return;
    screen.write(`${CLEAR}${line(view)}`);
    timer = clock.timer(draw, TICK_MS);
  };
  const log = (task: LiveTask): void => {
    const key = JSON.stringify([task.state, task.peer, task.waiting]);
    if (key !== printed) screen.write(`${line(task)}\n`);
    printed = key;
  };
  return {
    update: (task) => {
      view = nextView(view, task);
      if (screen.isTerminal) draw();
      else log(view);
    },
    pause: () => {
      paused = true;
      timer?.[Symbol.dispose]();
      if (screen.isTerminal) screen.write(CLEAR);
    },
    resume: () => {
      paused = false;
      if (screen.isTerminal) draw();
    },
    [Symbol.dispose]: () => {
      timer?.[Symbol.dispose]();
      if (screen.isTerminal && !paused) screen.write(CLEAR);
      paused = true;
    },
  };
}
