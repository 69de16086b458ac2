import { acquireOwnership } from '../src/ownership.ts';

/** Child process: owns the profile in argv[2] until it is killed or told to release it, and prints its state. */
const dir = process.argv[2] ?? '';
try {
  const ownership = acquireOwnership({ dir, profile: 'neo' });
  process.stdout.write('owner\n');
  process.stdin.once('data', () => {
    ownership[Symbol.dispose]();
    process.stdout.write('released\n');
  });
  process.stdin.once('end', () => process.exit(0));
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
