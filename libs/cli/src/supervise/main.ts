import { text } from 'node:stream/consumers';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { runningProcess } from '../local/pid-file.ts';
import { SUPERVISOR } from '../local/plan.ts';
import { startProcess } from '../local/start-process.ts';
import { Orders } from './orders.ts';
import { supervise } from './supervise.ts';

// It ends at SIGTERM between two restarts, never within one: a process is started and recorded in one turn.
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const { dir, runDir, processes } = Orders.parse(JSON.parse(await text(process.stdin)));
await supervise({
  dir,
  runDir,
  processes,
  clock,
  signal: stop.signal,
  isInCharge: () => runningProcess(runDir, SUPERVISOR)?.pid === process.pid,
  start: (each) => startProcess(runDir, each, each.command),
  say: (line) => process.stdout.write(`${new Date().toISOString()} ${line}\n`),
});
