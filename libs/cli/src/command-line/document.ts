import type { Output } from './command.ts';
import { safeJson, UNESCAPED, unicodeEscape } from './output.ts';

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
