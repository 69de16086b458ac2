import assert from 'node:assert/strict';
import { createWriteStream, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { createGit } from './git.ts';
import { inScratch } from './scratch.ts';

test('a temporary folder without room is named, also where git writes to it', {
  skip: !existsSync('/dev/full') && 'no disk is full here',
}, async () => {
  const git = createGit(process.env, '/', new AbortController().signal);
  const output = (stdout: NodeJS.ReadableStream) => pipeline(stdout, createWriteStream('/dev/full'));
  await assert.rejects(
    inScratch(() => git.exec(['version'], { output })),
    (error: Error) =>
      error.message.startsWith(`${tmpdir()} has too little room for temporary files (`) &&
      /\(\d+ MiB\): TMPDIR names another folder$/.test(error.message),
  );
});
