import { after, calls, edit, type Files, read, type Script, says, write } from '../script/script.ts';

const NAMES = [
  'ampere',
  'becquerel',
  'candela',
  'farad',
  'gray',
  'henry',
  'hertz',
  'joule',
  'kelvin',
  'lumen',
  'lux',
  'mole',
];
const KINDS = ['mean', 'peak', 'lowest', 'rated', 'measured', 'declared', 'corrected', 'relative'];
const terms = KINDS.flatMap((kind, at) =>
  NAMES.map((name, index) => ({
    term: `${kind} ${name}`,
    unit: `${name.slice(0, 2)}${at}`,
    meaning: `The ${kind} figure of class ${index + 1}, as the ${name} gauge of line ${at * 12 + index + 1} shows it`,
  })),
);
const entry = ({ term, unit, meaning }: (typeof terms)[number]): string =>
  `## ${term}\n\nMeasured in ${unit}. ${meaning}.\n`;
const part = (from: number, to: number): string => terms.slice(from, to).map(entry).join('\n');

export const files: Files = {
  'data/terms.csv': `term;unit;meaning\n${terms.map(({ term, unit, meaning }) => `${term};${unit};${meaning}\n`).join('')}`,
};

const FILE = 'guide/glossary.md';
const PART = 24;
const last = (to: number): string => entry(terms[to - 1] ?? { term: '', unit: '', meaning: '' });

export const script: Script = {
  turns: [
    [
      calls(read('data/terms.csv')),
      // The output limit cuts the first try, which must not reach the file.
      { calls: [write(FILE, `# Glossary\n\n${part(0, terms.length)}`)], cutAfter: 4_000 },
      after([/corrected mole/], write(FILE, `# Glossary\n\n${part(0, PART)}`)),
      ...[PART, 2 * PART, 3 * PART].map((from) =>
        calls(edit(FILE, last(from), `${last(from)}\n${part(from, from + PART)}`)),
      ),
      calls(read(FILE)),
      says('guide/glossary.md has all 96 terms.', /## relative mole/),
    ],
  ],
};
