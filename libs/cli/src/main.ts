#!/usr/bin/env node
import { closeInheritedDescriptors } from '@hermes-fleet/service/descriptors';
import { run } from './run.ts';

const argv = process.argv.slice(2);
closeInheritedDescriptors(argv);

// A reader that has enough, such as `head`, closes the pipe: that is no error of the command.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  process.stderr.write(`fleet: the output cannot be written (${error.code ?? error.message})\n`);
  process.exit(1);
});
// Progress and errors that nobody reads: the exit code still tells how the command ended.
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
process.exitCode = await run(argv, process.env, {
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});
