import { readFileSync, writeFileSync } from 'node:fs';
import { readCast } from './cast.ts';
import { renderDemo } from './render.ts';
import { renderCast } from './render-cast.ts';

/** Draws demo.svg from demo.txt, the output of `make demo`, and send.svg from send.cast. `make picture` makes these first. */
const at = (name: string): URL => new URL(name, import.meta.url);
writeFileSync(at('demo.svg'), renderDemo(readFileSync(at('demo.txt'), 'utf8')));
writeFileSync(at('send.svg'), renderCast(readCast(readFileSync(at('send.cast'), 'utf8'))));
