import { resolve } from 'node:path';
import { KNOWN, MEASURED, readDurations, renewDurations, writeDurations } from './durations.ts';
import { FOLDERS, findTestFiles } from './test-files.ts';

/** `make durations`: writes what the last runs of the tests measured to known-durations.json. */
const ROOT = resolve(import.meta.dirname, '../../..');

const known = readDurations(KNOWN);
const measured = readDurations(MEASURED);
const renewed = renewDurations(known, measured, findTestFiles(ROOT, FOLDERS));
writeDurations(KNOWN, renewed);

const count = (
  files: Readonly<Record<string, number>>,
  missingIn: Readonly<Record<string, number>>,
): number => Object.keys(files).filter((file) => !(file in missingIn)).length;
const total = Object.keys(renewed).length;
console.log(
  `known-durations.json: ${total} files, ${count(renewed, known)} new, ${count(known, renewed)} removed`,
);
if (Object.keys(measured).length === 0)
  console.log('No durations were measured here: run `make test` first.');
