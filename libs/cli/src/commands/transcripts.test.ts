import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { testTranscript } from '../../testing/transcript.ts';

const folder = join(import.meta.dirname, '../../testing/transcripts');

for (const name of readdirSync(folder)) testTranscript(join(folder, name));
