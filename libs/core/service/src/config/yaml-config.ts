import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { FleetError, fieldPath } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import { describeIssue, NO_MESSAGE } from './describe-issue.ts';
import type { Kept } from './interpolate.ts';
import { configInvalid } from './problems.ts';
import { errno, type SecretEnv } from './secret-env.ts';
import { type Path, readYaml } from './yaml-tree.ts';

const MAX_CONFIG_BYTES = 256_000;

export interface YamlConfigOptions<S extends z.ZodType> {
  readonly file: string;
  readonly schema: S;
  readonly env: SecretEnv;
  /** How a placeholder stays that is not replaced here. */
  readonly isKept?: (path: Path, name: string) => Kept;
}

export interface YamlConfig<T> {
  readonly value: T;
  /** The keys whose values come from the environment. */
  readonly notes: string[];
  /**
   * The location of a key, `fleet.yaml:12 fleet.server.token_env`, for checks after the schema's. The key may be
   * missing.
   */
  locate(key: string): string;
}

/**
 * Reads a YAML file and validates it with a schema. Throws CONFIG_INVALID with every problem at once, each with its
 * line, its key and the fix (`fleet.yaml:12 fleet.server.bind_port`): YAML errors, duplicate and unknown keys, unset
 * variables, wrong types and values, and the schema's refinements. Syntax errors are reported alone, because everything
 * after them is unreliable.
 */
export function loadYamlConfig<S extends z.ZodType>({
  file,
  schema,
  env,
  isKept,
}: YamlConfigOptions<S>): YamlConfig<z.output<S>> {
  const name = basename(file);
  const tree = readYaml(readText(file), env, isKept);
  if (tree.value === undefined) throw configInvalid(name, tree.problems);
  if (tree.value === null && tree.problems.length === 0) {
    throw configInvalid(name, [
      { line: 1, path: '', reason: 'the file is empty; write the configuration into it' },
    ]);
  }
  const parsed = schema.safeParse(tree.value, { error: () => NO_MESSAGE, reportInput: true });
  if (parsed.success && tree.problems.length === 0) {
    const keys = tree.fromEnvironment.join(', ');
    return {
      value: parsed.data,
      notes: keys === '' ? [] : [`${name} takes from the environment: ${keys}`],
      locate: (key) => `${name}:${tree.lineOf(key.split('.'))} ${key}`,
    };
  }
  const issues = parsed.success ? [] : parsed.error.issues;
  const located = ({ path, reason }: { path: Path; reason: string }) => ({
    line: tree.lineOf(path),
    path: fieldPath(path),
    reason,
  });
  const described = issues.flatMap((issue) => describeIssue(issue, { schema, tree }));
  throw configInvalid(name, [
    ...tree.problems,
    ...described.filter(({ path }) => !tree.isBroken(path)).map(located),
  ]);
}

function readText(file: string): string {
  const invalid = (problem: string, cause?: unknown): FleetError =>
    new FleetError('CONFIG_INVALID', `${file} ${problem}`, {
      cause,
      fields: [{ path: basename(file), reason: problem }],
    });
  let bytes: Buffer;
  try {
    bytes = readBytes(file, invalid);
  } catch (thrown) {
    if (thrown instanceof FleetError) throw thrown;
    const code = errno(thrown);
    if (code === 'ENOENT') throw invalid('does not exist; create it, or correct the path', thrown);
    throw invalid(`can't be read (${code}); check who may read it`, thrown);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (thrown) {
    throw invalid('is not UTF-8 text; save it as UTF-8', thrown);
  }
}

function readBytes(file: string, invalid: (problem: string) => FleetError): Buffer {
  if (!statSync(file).isFile()) throw invalid('is not a file; name the YAML file itself');
  const handle = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(MAX_CONFIG_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(handle, buffer, length, buffer.length - length, null);
    }
    if (length > MAX_CONFIG_BYTES) throw invalid(`is larger than ${MAX_CONFIG_BYTES} bytes; make it smaller`);
    return buffer.subarray(0, length);
  } finally {
    closeSync(handle);
  }
}
