import { execFile } from 'node:child_process';
import { join } from 'node:path';

const LOOK_MS = 5_000;

/**
 * Who has a TCP port of this machine, to follow the words "in use by": a container with its checkout, or a program with its
 * pid and folder. "another program" where the machine does not show it within 5 s.
 */
export function portOwner(root: string, port: number): Promise<string> {
  const script = join(root, 'deploy/port-owner.sh');
  return new Promise((resolve) => {
    execFile('sh', [script, String(port)], { timeout: LOOK_MS }, (_, stdout) =>
      resolve(stdout.trim() || 'another program'),
    );
  });
}
