import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { JsonObject } from '@hermes-fleet/protocol';
import { controlSchemas } from '@hermes-fleet/protocol/control';
import { handshakeSchemas } from '@hermes-fleet/protocol/handshake';

const ROOT = resolve(import.meta.dirname, '../..');

/** Where the JSON Schemas of the handshake and of the trader's contract are published. */
export const SCHEMAS = join(ROOT, 'docs/schemas');

/** The schemas as the code has them, by the name of their file. */
export const generated = (): [file: string, schema: JsonObject][] =>
  Object.entries({ ...handshakeSchemas(), ...controlSchemas() }).map(([name, schema]) => [
    `${name}.schema.json`,
    schema,
  ]);

export const published = (file: string): unknown => JSON.parse(readFileSync(join(SCHEMAS, file), 'utf8'));

/** Writes them anew. */
export function writeSchemas(): void {
  mkdirSync(SCHEMAS, { recursive: true });
  for (const [file, schema] of generated())
    writeFileSync(join(SCHEMAS, file), `${JSON.stringify(schema, null, 2)}\n`);
  execFileSync(join(ROOT, 'node_modules/.bin/biome'), ['format', '--write', SCHEMAS], { stdio: 'inherit' });
}
