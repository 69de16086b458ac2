import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { FleetError, fieldPath } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import { describeIssue, UNWORDED } from './describe-issue.ts';
import { configInvalid } from './problems.ts';
import { errno, type SecretEnv } from './secret-env.ts';
import { type Path, readYaml } from './yaml-tree.ts';

/** The largest configuration file that is read. */
export const MAX_CONFIG_BYTES = 256_000;

export interface YamlConfigOptions<S extends z.ZodType> {
  readonly file: string;
  readonly schema: S;
  readonly env: SecretEnv;
}

export interface YamlConfig<T> {
  readonly value: T;
  /** What was taken from the environment. */
  readonly notes: string[];
  /** Where a key stands, or would: `fleet.yaml:12 fleet.server.token_env`; for checks that come after the schema's. */
  locate(key: string): string;
}

/**
 * Reads a YAML file into what the schema makes of it. Throws CONFIG_INVALID with every problem at once, each with its
 * line, its key and the fix (`fleet.yaml:12 fleet.server.bind_port`): YAML errors, duplicate and unknown keys, unset
 * variables, wrong types and values, and what the schema's own refinements say. Only syntax errors come alone, since
 * nothing after them can be trusted (design 2, fleet.yaml).
 */
export function loadYamlConfig<S extends z.ZodType>(o: YamlConfigOptions<S>): YamlConfig<z.output<S>> {
  const name = basename(o.file);
  const tree = readYaml(readText(o.file), o.env);
  if (tree.value === undefined) throw configInvalid(name, tree.problems);
  if (tree.value === null && tree.problems.length === 0) {
    throw configInvalid(name, [
      { line: 1, path: '', reason: 'the file is empty; write the configuration into it' },
    ]);
  }
  const parsed = o.schema.safeParse(tree.value, { error: () => UNWORDED, reportInput: true });
  if (parsed.success && tree.problems.length === 0) {
    const taken = tree.fromEnvironment.join(', ');
    return {
      value: parsed.data,
      notes: taken === '' ? [] : [`${name} takes from the environment: ${taken}`],
      locate: (key) => `${name}:${tree.lineOf(key.split('.'))} ${key}`,
    };
  }
  const issues = parsed.success ? [] : parsed.error.issues;
  const located = ({ path, reason }: { path: Path; reason: string }) => ({
    line: tree.lineOf(path),
    path: fieldPath(path),
    reason,
  });
  const described = issues.flatMap((issue) => describeIssue(issue, { schema: o.schema, tree }));
  throw configInvalid(name, [
    ...tree.problems,
    ...described.filter(({ path }) => !tree.isBroken(path)).map(located),
  ]);
}

function readText(file: string): string {
  const bad = (what: string, cause?: unknown): FleetError =>
    new FleetError('CONFIG_INVALID', `${file} ${what}`, {
      cause,
      fields: [{ path: basename(file), reason: what }],
    });
  let bytes: Buffer;
  try {
    bytes = readBytes(file, bad);
  } catch (thrown) {
    if (thrown instanceof FleetError) throw thrown;
    const code = errno(thrown);
    if (code === 'ENOENT') throw bad('does not exist; create it, or name the file that is meant', thrown);
    throw bad(`can't be read (${code}); check who may read it`, thrown);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (thrown) {
    throw bad('is not UTF-8 text; save it as UTF-8', thrown);
  }
}

function readBytes(file: string, bad: (what: string) => FleetError): Buffer {
  if (!statSync(file).isFile()) throw bad('is not a file; name the YAML file itself');
  const handle = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(MAX_CONFIG_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(handle, buffer, length, buffer.length - length, null);
    }
    if (length > MAX_CONFIG_BYTES)
      throw bad(`is larger than ${MAX_CONFIG_BYTES} bytes; that is no configuration`);
    return buffer.subarray(0, length);
  } finally {
    closeSync(handle);
  }
}
