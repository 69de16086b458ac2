import { readFileSync, writeFileSync } from 'node:fs';
import { renderDemo } from './render.ts';

/** Draws demo.svg from demo.txt, the output of `make demo`. `make picture` runs the demo first. */
const at = (name: string): URL => new URL(name, import.meta.url);
writeFileSync(at('demo.svg'), renderDemo(readFileSync(at('demo.txt'), 'utf8')));
