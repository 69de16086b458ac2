import { Document, visit } from 'yaml';
import { UNESCAPED, unicodeEscape } from './output.ts';

/** A value as YAML, with escapes for characters that could control a terminal. */
export function safeYaml(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    // Only a string in double quotes can have escapes.
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && scalar.value.search(UNESCAPED) >= 0)
        scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString().replace(UNESCAPED, unicodeEscape);
}
