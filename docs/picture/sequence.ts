/** A sequence diagram as SVG: lanes, and bands of messages between them, from top to bottom. */
export interface Diagram {
  readonly title: string;
  readonly description: string;
  readonly heading: string;
  /** Stands to the right of the heading. */
  readonly source: string;
  readonly lanes: readonly Lane[];
  readonly bands: readonly Band[];
}

export interface Lane {
  readonly name: string;
  readonly note: string;
  /** The center of the lane, in px from the left. */
  readonly x: number;
}

export interface Band {
  readonly title: string;
  readonly note: string;
  readonly rows: readonly Row[];
}

export interface Row {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly tone: 'plain' | 'good' | 'bad';
  /** An answer is drawn with a dashed line. */
  readonly answer?: boolean;
  /** Lanes that send the message too. */
  readonly alsoFrom?: readonly string[];
  /** A lane that passes the message on. `text` stands after it, `received` before it. */
  readonly via?: { readonly lane: string; readonly received: string };
  /** Lanes that refuse the message; the line ends at the last of them. */
  readonly refusedBy?: readonly string[];
  /** Stands to the right of the row, cut where the picture ends. */
  readonly remark?: string;
}

export const WIDTH = 1000;
const ROW = 26;
const BAND_HEAD = 27;
const BAND_GAP = 7;
const TOP = 104;
/** The average width of a character in the usual fonts, in px: an upper bound. */
const LABEL_CHARACTER = 7;
const REMARK_CHARACTER = 5.9;

/** The same diagram gives the same text. Throws a RangeError when a text does not fit. */
export function drawSequence(diagram: Diagram): string {
  const bands: string[] = [];
  const rows: string[] = [];
  let y = TOP;
  for (const band of diagram.bands) {
    const height = BAND_HEAD + band.rows.length * ROW;
    bands.push(`<rect class="band" x="12" y="${y}" width="${WIDTH - 24}" height="${height}" rx="6"/>`);
    rows.push(
      `<text class="note" x="24" y="${y + 17}"><tspan class="strong">${escapeXml(band.title)}</tspan>  ${escapeXml(band.note)}</text>`,
      ...band.rows.flatMap((row, index) => drawRow(diagram.lanes, row, y + BAND_HEAD + index * ROW + 15)),
    );
    y += height + BAND_GAP;
  }
  const height = y + 5;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escapeXml(diagram.title)}</title>`,
    `<desc id="description">${escapeXml(diagram.description)}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="10"/>`,
    `<text class="prompt" x="24" y="31">${escapeXml(diagram.heading)}</text>`,
    `<text class="source" x="${WIDTH - 24}" y="31">${escapeXml(diagram.source)}</text>`,
    ...bands,
    ...diagram.lanes.map(({ x }) => `<line class="life" x1="${x}" y1="92" x2="${x}" y2="${y - BAND_GAP}"/>`),
    ...diagram.lanes.flatMap(drawHead),
    ...rows,
    '</svg>',
    '',
  ].join('\n');
}

function drawHead({ name, note, x }: Lane): string[] {
  return [
    `<rect class="head" x="${x - 64}" y="48" width="128" height="44" rx="8"/>`,
    `<text class="name" x="${x}" y="67">${escapeXml(name)}</text>`,
    `<text class="role" x="${x}" y="83">${escapeXml(note)}</text>`,
  ];
}

function drawRow(lanes: readonly Lane[], row: Row, y: number): string[] {
  const [from, to] = [center(lanes, row.from), center(lanes, row.to)];
  const direction = Math.sign(to - from);
  const refusals = row.refusedBy ?? [];
  const via = row.via === undefined ? undefined : center(lanes, row.via.lane);
  const senders = [row.from, ...(row.alsoFrom ?? []), ...(row.via ? [row.via.lane] : [])];
  const label = (text: string, start: number, end: number): string => {
    if (text.length * LABEL_CHARACTER > Math.abs(end - start) - 12)
      throw new RangeError(`"${text}" does not fit between ${row.from} and ${row.to}`);
    return `<text class="label ${row.tone}" x="${(start + end) / 2}" y="${y - 6}">${escapeXml(text)}</text>`;
  };
  return [
    label(row.text, via ?? from, to),
    row.via && via !== undefined ? label(row.via.received, from, via) : '',
    `<line class="line ${row.tone}${row.answer ? ' answer' : ''}" x1="${from}" y1="${y}" x2="${to - direction * 7}" y2="${y}"/>`,
    ...senders.map((lane) => `<circle class="dot ${row.tone}" cx="${center(lanes, lane)}" cy="${y}" r="3"/>`),
    ...refusals.map((lane) => drawCross(center(lanes, lane), y)),
    refusals.length > 0 ? '' : `<path class="dot ${row.tone}" d="M${to} ${y}l${-direction * 9} -4.5v9z"/>`,
    row.remark === undefined ? '' : drawRemark(row.remark, Math.max(from, to) + 12, y + 4),
  ].filter(Boolean);
}

function drawRemark(text: string, x: number, y: number): string {
  const fits = Math.floor((WIDTH - 24 - x) / REMARK_CHARACTER);
  const shown = text.length <= fits ? text : `${text.slice(0, fits - 1)}…`;
  return `<text class="remark" x="${x}" y="${y}">${escapeXml(shown)}</text>`;
}

const drawCross = (x: number, y: number): string =>
  `<path class="line bad cross" d="M${x - 5} ${y - 5}l10 10m0 -10l-10 10"/>`;

function center(lanes: readonly Lane[], name: string): number {
  const lane = lanes.find((each) => each.name === name);
  if (!lane) throw new RangeError(`the diagram has no lane "${name}"`);
  return lane.x;
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const rules = (colors: Readonly<Record<string, string>>): string =>
  Object.entries(colors)
    .map(([selector, declaration]) => `${selector}{${declaration}}`)
    .join('');

const theme = (
  o: Readonly<Record<'page' | 'edge' | 'band' | 'text' | 'muted' | 'blue' | 'green' | 'red', string>>,
): string =>
  rules({
    '.page': `fill:${o.page};stroke:${o.edge}`,
    '.band': `fill:${o.band}`,
    '.label,.remark,.note': `stroke:${o.band}`,
    '.head': `fill:${o.page};stroke:${o.edge}`,
    '.life': `stroke:${o.edge}`,
    'text,.strong': `fill:${o.text}`,
    '.note,.role,.remark,.source': `fill:${o.muted}`,
    '.line.plain': `stroke:${o.blue}`,
    '.line.good': `stroke:${o.green}`,
    '.line.bad': `stroke:${o.red}`,
    '.dot.plain': `fill:${o.blue}`,
    '.dot.good,text.good': `fill:${o.green}`,
    '.dot.bad,text.bad': `fill:${o.red}`,
  });

const STYLE = [
  rules({
    text: "font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',Arial,sans-serif;white-space:pre",
    '.prompt': "font:600 15px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace",
    '.strong': 'font-weight:600;font-size:13px',
    '.name': 'font-weight:600;font-size:14px;text-anchor:middle',
    '.role': 'font-size:11.5px;text-anchor:middle',
    '.label,.remark,.note': 'paint-order:stroke;stroke-width:5px;stroke-linejoin:round',
    '.label': 'text-anchor:middle',
    '.note,.remark,.source': 'font-size:12px',
    '.source': 'text-anchor:end',
    'text.good,text.bad': 'font-weight:600',
    '.line': 'fill:none;stroke-width:1.5',
    '.answer': 'stroke-dasharray:5 4',
    '.cross': 'stroke-width:2.5',
    '.life': 'stroke-dasharray:2 4',
  }),
  theme({
    page: '#ffffff',
    edge: '#d0d7de',
    band: '#f6f8fa',
    text: '#1f2328',
    muted: '#59636e',
    blue: '#0969da',
    green: '#1a7f37',
    red: '#cf222e',
  }),
  `@media (prefers-color-scheme:dark){${theme({ page: '#0d1117', edge: '#3d444d', band: '#151b23', text: '#f0f6fc', muted: '#9198a1', blue: '#4493f8', green: '#3fb950', red: '#f85149' })}}`,
].join('');
