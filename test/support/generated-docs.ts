import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { folderAt, followingFiles, readMembers } from '@hermes-fleet/cli';
import { configParts } from './config-docs.ts';
import { doc, withParts } from './docs.ts';
import { ROOT } from './fleet.ts';
import { LIFECYCLE_DOCS } from './lifecycle-docs.ts';
import { metricsParts } from './metrics-docs.ts';
import { writeSchemas } from './schemas.ts';

type Parts = Readonly<Record<string, string>>;

interface Generated {
  readonly file: string;
  readonly text: string;
  readonly expected: string;
}

/** The documents as they are, and as the code has them. Throws if one lacks the comments of a part. */
export function generatedDocs(): Generated[] {
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

/** The shipped files that follow from deploy/members.yaml, as they are and as the list has them. */
export function memberFiles(): Generated[] {
  const checkout = folderAt(ROOT);
  return followingFiles(checkout, readMembers(checkout.home)).map(({ path, text: expected }) => {
    const file = relative(ROOT, path);
    return { file, text: doc(file), expected };
  });
}

/** Writes them anew, and the JSON Schemas: make docs */
if (import.meta.main) {
  for (const { file, expected } of [...generatedDocs(), ...memberFiles()])
    writeFileSync(join(ROOT, file), expected);
  writeSchemas();
}
