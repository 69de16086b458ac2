#!/usr/bin/env node
import { FleetError } from '@hermes-fleet/protocol';
import { sanitize } from './command-line/output.ts';
import { run } from './run.ts';

try {
  process.exitCode = await run(process.argv.slice(2), process.env);
} catch (thrown) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  console.error(`fleet: ${error.message}`);
  if (error instanceof FleetError)
    for (const { path, reason } of error.fields) console.error(sanitize(`  ${path}: ${reason}`));
  process.exitCode = 1;
}
