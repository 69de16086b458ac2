import { spawnSync } from 'node:child_process';

const ANSWER_MS = 10_000;

const answers = (...args: string[]): boolean =>
  spawnSync('docker', args, { stdio: 'ignore', timeout: ANSWER_MS }).status === 0;

/** Why no test of containers can run here, or false when a Docker engine with Compose answers. */
export function withoutEngine(): string | false {
  if (!answers('version')) return 'no Docker engine answers';
  return answers('compose', 'version') ? false : 'no Docker engine answers: it has no Compose';
}
