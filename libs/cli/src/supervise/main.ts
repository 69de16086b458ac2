import { writeSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { systemCode } from '@hermes-fleet/protocol';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { programDigest } from '../local/fingerprint.ts';
import { runningProcess } from '../local/pid-file.ts';
import { SUPERVISOR } from '../local/plan.ts';
import { startProcess } from '../local/start-process.ts';
import { Orders } from './orders.ts';
import { supervise } from './supervise.ts';

// It ends at SIGTERM between two restarts, never within one: a process is started and recorded in one turn.
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const { dir, runDir, processes } = Orders.parse(JSON.parse(await text(process.stdin)));
/** Without room on the disk, a line is lost: a write that fails would end this stream, or the process. */
const log = (line: string): void => {
  try {
    writeSync(1, `${new Date().toISOString()} ${line}\n`);
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '')) throw error;
  }
};
await supervise({
  dir,
  runDir,
  processes,
  clock,
  signal: stop.signal,
  isInCharge: () => runningProcess(runDir, SUPERVISOR)?.pid === process.pid,
  isCurrent: ({ command: { file, args, fingerprint } }) =>
    file !== process.execPath || fingerprint?.program === programDigest(args[0] ?? ''),
  start: (each) => startProcess(runDir, each, each.command),
  say: log,
});
