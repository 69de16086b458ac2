import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configParts } from './config-docs.ts';
import { doc, withParts } from './docs.ts';
import { ROOT } from './fleet.ts';
import { LIFECYCLE_DOCS } from './lifecycle-docs.ts';
import { metricsParts } from './metrics-docs.ts';
import { writeSchemas } from './schemas.ts';

type Parts = Readonly<Record<string, string>>;

/** The documents as they are, and as the code has them. Throws if one lacks the comments of a part. */
export function generatedDocs(): { file: string; text: string; expected: string }[] {
  const documents: Readonly<Record<string, Parts>> = {
    'docs/configuration.md': configParts(doc('docs/configuration.md')),
    'docs/metrics.md': metricsParts(),
    ...LIFECYCLE_DOCS,
  };
  return Object.entries(documents).map(([file, parts]) => {
    const text = doc(file);
    return { file, text, expected: withParts(text, parts) };
  });
}

/** Writes them anew, and the JSON Schemas: make docs */
if (import.meta.main) {
  for (const { file, expected } of generatedDocs()) writeFileSync(join(ROOT, file), expected);
  writeSchemas();
}
