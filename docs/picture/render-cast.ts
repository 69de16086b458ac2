import type { Cast } from './cast.ts';
import { createTerminal, type Run } from './terminal-rows.ts';

const LINE = 18;
const CHARACTER = 7.83;
const MARGIN = 16;
/** Output within this time, in seconds, is drawn in one frame. */
const TOGETHER = 0.05;
/** How long the end is shown before the recording starts again, in seconds. */
const REST = 6;
const COLOURS: Readonly<Record<number, string>> = {
  31: '#ff7b72',
  32: '#3fb950',
  33: '#d29922',
  34: '#58a6ff',
  35: '#bc8cff',
  36: '#39c5cf',
  90: '#8b949e',
};

/** A row of the terminal, and the seconds while it is so. */
interface Shown {
  readonly row: number;
  readonly runs: readonly Run[];
  readonly from: number;
  until: number;
}

/** The recording as an SVG that plays it, and shows its end where nothing moves. The same recording gives the same SVG. */
export function renderCast(cast: Cast): string {
  const shown = rowsInTime(cast);
  const length = Math.max(...cast.output.map(([at]) => at)) + REST;
  const height = (Math.max(...shown.map(({ row }) => row)) + 1) * LINE + 2 * MARGIN;
  const columns = Math.max(...shown.map(({ runs }) => widthOf(runs)));
  const width = Math.ceil(columns * CHARACTER + 2 * MARGIN);
  const lasts = ({ until }: Shown): boolean => until === Number.POSITIVE_INFINITY;
  const times = [...new Set(shown.map(({ from, until }) => `${from} ${until}`))].map((key) =>
    key.split(' ').map(Number),
  );
  const nameOf = ({ from, until }: Shown): number => times.findIndex(([a, b]) => a === from && b === until);
  const percent = (at: number): string => `${((Math.min(at, length) / length) * 100).toFixed(3)}%`;
  const frames = times.map(([from = 0, until = 0], name) => {
    const hidden = until === Number.POSITIVE_INFINITY ? '' : `${percent(until)}{visibility:hidden}`;
    return `@keyframes t${name}{0%{visibility:hidden}${percent(from)}{visibility:visible}${hidden}}.t${name}{animation-name:t${name}}`;
  });
  const colours = Object.entries(COLOURS).map(([code, colour]) => `.c${code}{fill:${colour}}`);
  const rows = shown.map((each) => {
    const y = MARGIN + each.row * LINE + 13;
    return `<text class="t${nameOf(each)}${lasts(each) ? ' end' : ''}" x="${MARGIN}" y="${y}">${each.runs.map(span).join('')}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">
<title id="title">${escaped(cast.title)}</title>
<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:#e6edf3;visibility:hidden;animation:${length.toFixed(2)}s step-end infinite}.end{visibility:visible}.dim{opacity:.6}${colours.join('')}${frames.join('')}@media(prefers-reduced-motion:reduce){text{animation:none}}</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
${rows.join('\n')}
</svg>
`;
}

/** Every state of every row, without empty ones. */
function rowsInTime({ output }: Cast): Shown[] {
  const terminal = createTerminal();
  const all: Shown[] = [];
  const now = new Map<number, Shown>();
  output.forEach(([at, text], index) => {
    terminal.write(text);
    const next = output[index + 1];
    if (next && next[0] - at < TOGETHER) return;
    const rows = terminal.rows();
    for (let row = 0; row < Math.max(rows.length, now.size); row += 1) {
      const runs = rows[row] ?? [];
      const before = now.get(row);
      if (before && JSON.stringify(before.runs) === JSON.stringify(runs)) continue;
      if (before) before.until = at;
      const shown = { row, runs, from: at, until: Number.POSITIVE_INFINITY };
      now.set(row, shown);
      if (widthOf(runs) > 0) all.push(shown);
    }
  });
  return all;
}

const widthOf = (runs: readonly Run[]): number => runs.reduce((sum, { text }) => sum + text.length, 0);

function span({ text, colour, isDim }: Run): string {
  const names = [
    ...(colour !== undefined && colour in COLOURS ? [`c${colour}`] : []),
    ...(isDim ? ['dim'] : []),
  ];
  return names.length === 0 ? escaped(text) : `<tspan class="${names.join(' ')}">${escaped(text)}</tspan>`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
