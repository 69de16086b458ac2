import type { Invocation, OptionSpecs, Output, Streams } from './command.ts';
import { safeJson } from './output.ts';

type Print = Invocation<OptionSpecs>['print'];

/** Prints values as documents of this format on stdout; undefined for text. */
export async function printerOf(output: Output, stdout: Streams['stdout']): Promise<Print> {
  if (output === 'text') return undefined;
  const serialize = await serializerOf(output);
  return (value) => stdout.write(serialize(value));
}

/**
 * How a value becomes one document: JSON on one line, or YAML, whose library is loaded for it only. Text in it cannot control
 * the terminal (docs/cli.md#output).
 */
export async function serializerOf(output: Output): Promise<(value: unknown) => string> {
  if (output !== 'yaml') return (value) => `${safeJson(JSON.stringify(value))}\n`;
  const { safeYaml } = await import('./yaml.ts');
  return (value) => `---\n${safeYaml(value)}`;
}
