import type { Invocation, OptionSpecs, Output, Streams } from './command.ts';
import { safeJson, UNESCAPED, unicodeEscape } from './output.ts';

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
  const { Document, visit } = await import('yaml');
  return (value) => {
    const document = new Document(value);
    visit(document, {
      // Only a string in double quotes can have escapes.
      Scalar: (_, scalar) => {
        if (typeof scalar.value === 'string' && scalar.value.search(UNESCAPED) >= 0)
          scalar.type = 'QUOTE_DOUBLE';
      },
    });
    return `---\n${document.toString().replace(UNESCAPED, unicodeEscape)}`;
  };
}
