import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';

/** Environment variables, and secrets that containers pass as files. */
export interface SecretEnv {
  /**
   * The value of NAME, else the content of the file that NAME_FILE names, else of the file `<HERMES_NAME>.NAME` or NAME in
   * HERMES_KEYS_DIR, else the value of such a line `NAME=value` in the file HERMES_KEYS_FILE; trimmed. An empty variable counts as unset. Throws CONFIG_INVALID, with the name of the variable, for an unreadable
   * or empty file.
   */
  read(name: string): string | undefined;
}

const MAX_BYTES = 65_536;
/** Of a file with all keys: the most that a secret of Docker Swarm can have. */
const MAX_BUNDLE_BYTES = 512_000;

/** Reads files at each call, so a rotated secret takes effect. */
export function createSecretEnv(env: NodeJS.ProcessEnv): SecretEnv {
  const variable = (name: string): string | undefined => env[name]?.trim() || undefined;
  return {
    read(name) {
      if (!/^[A-Za-z_]\w*$/.test(name)) {
        throw new FleetError('CONFIG_INVALID', `"${name}" is not the name of an environment variable`);
      }
      const value = variable(name);
      if (value !== undefined) return value;
      const file = variable(`${name}_FILE`);
      if (file !== undefined) return readSecret(`${name}_FILE`, file);
      const own = variable('HERMES_NAME');
      const keys = own === undefined ? [name] : [`${own}.${name}`, name];
      const folder = variable('HERMES_KEYS_DIR');
      const key = folder === undefined ? undefined : keys.map((each) => join(folder, each)).find(mayExist);
      if (key !== undefined) return readSecret(`${name} (in HERMES_KEYS_DIR)`, key);
      const bundle = variable('HERMES_KEYS_FILE');
      return bundle === undefined
        ? undefined
        : readLine(readSecret('HERMES_KEYS_FILE', bundle, MAX_BUNDLE_BYTES), keys);
    },
  };
}

/** True for a file that cannot be examined: reading it reports the reason. */
function mayExist(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** The value of the first of these names that the text has a line for. */
function readLine(text: string, names: readonly string[]): string | undefined {
  const lines = text.split('\n');
  for (const name of names) {
    const line = lines.find((each) => each.startsWith(`${name}=`));
    if (line !== undefined) return line.slice(name.length + 1).trim() || undefined;
  }
  return undefined;
}

function readSecret(source: string, file: string, maxBytes = MAX_BYTES): string {
  const invalid = (problem: string, cause?: unknown): FleetError =>
    new FleetError('CONFIG_INVALID', `${source}: ${file} ${problem}`, { cause });
  let text: string;
  try {
    if (statSync(file).size > maxBytes)
      throw invalid(`is larger than ${maxBytes} bytes, the maximum for a secret`);
    text = readFileSync(file, 'utf8').trim();
  } catch (thrown) {
    if (thrown instanceof FleetError) throw thrown;
    throw invalid(`can't be read (${errno(thrown)}); check that it exists and who may read it`, thrown);
  }
  if (text === '') throw invalid('is empty; put the secret into it');
  return text;
}

/** The code of a file system error, for messages. */
export function errno(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown error';
}
