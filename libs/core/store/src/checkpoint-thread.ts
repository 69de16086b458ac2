import { pathToFileURL } from 'node:url';
import { type MessagePort, Worker } from 'node:worker_threads';

/** How a checkpoint ended: undefined, or the error that ended it. */
export type CheckpointEnd = string | undefined;

/** 1 while a checkpoint is asked for or runs. */
export type RunningFlag = Int32Array<SharedArrayBuffer>;

const LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 };

/**
 * The code of the thread. It runs from its text, so it uses nothing from outside: a thread with a file of its own would
 * load what strips types, and take 10 MB more. Each message runs one checkpoint over a connection of its own.
 */
function checkpointOnMessage(): void {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const port = parentPort as MessagePort;
  const { url, running } = workerData as { url: string; running: RunningFlag };
  port.on('message', () => {
    let failure: CheckpointEnd;
    try {
      const db = new DatabaseSync(new URL(url), { timeout: 2000 });
      try {
        db.exec('PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(PASSIVE)');
      } finally {
        db.close();
      }
    } catch (error) {
      failure = String(error);
    }
    Atomics.store(running, 0, 0);
    Atomics.notify(running, 0);
    port.postMessage(failure);
  });
}

/** Starts the thread that checkpoints `file`. It does not keep the process alive. */
export function startCheckpointThread(
  file: string,
  running: RunningFlag,
  code = checkpointOnMessage,
): Worker {
  const url = pathToFileURL(file);
  // Never creates a file in the place of one that was moved away.
  url.searchParams.set('mode', 'rw');
  const worker = new Worker(`(${code})()`, {
    eval: true,
    name: 'checkpoints',
    workerData: { url: url.href, running },
    resourceLimits: LIMITS,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  });
  worker.unref();
  return worker;
}
