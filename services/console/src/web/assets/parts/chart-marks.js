import { html } from '../lib/vendor.js';

/**
 * @typedef {object} Mark
 * @property {string} key
 * @property {'buy' | 'sell' | 'decision'} kind
 * @property {string} at
 * @property {number | null} value Null for a mark over the whole height.
 * @property {string} title
 *
 * @typedef {object} Frame Where the chart is in its element, in pixels, and what its edges stand for.
 * @property {number} left
 * @property {number} top
 * @property {number} width
 * @property {number} height
 * @property {number} from In seconds.
 * @property {number} to
 * @property {number} low
 * @property {number} high
 */

/** What the pointer finds of a line. */
const GRIP = 4;

/** The marks of a chart, each with its title. @param {{frame: Frame, marks: readonly Mark[]}} props */
export function Marks({ frame, marks }) {
  const { left, top, width, height, from, to, low, high } = frame;
  const place = (/** @type {Mark} */ { at, value }) => ({
    x: ((Date.parse(at) / 1_000 - from) / (to - from)) * width,
    y: value === null ? 0 : height - ((value - low) / (high - low)) * height,
  });
  const inside = marks.map((mark) => ({ ...mark, ...place(mark) })).filter(({ x }) => x >= 0 && x <= width);
  return html`<svg class="marks" style=${{ left: `${left}px`, top: `${top}px` }} width=${width} height=${height}>
    ${inside.map(
      ({
        key,
        kind,
        x,
        y,
        title,
      }) => html`<g key=${key} class=${`mark-${kind}`} transform=${`translate(${x.toFixed(1)} ${y.toFixed(1)})`}>
        <title>${title}</title><${Shape} kind=${kind} height=${height} />
      </g>`,
    )}
  </svg>`;
}

/** A triangle that points to the price, or a line. @param {{kind: Mark['kind'], height: number}} props */
const Shape = ({ kind, height }) =>
  kind === 'decision'
    ? html`<rect class="grip" x=${-GRIP} width=${2 * GRIP} height=${height} /><path class="line" d=${`M0 0V${height}`} /><path d="M0 0L5 5L0 10L-5 5Z" />`
    : html`<path d=${kind === 'buy' ? 'M0 1L5 10H-5Z' : 'M0 -1L5 -10H-5Z'} />`;

/** What a shape stands for. @param {{kind: Mark['kind'], name: string}} props */
export const MarkName = ({ kind, name }) =>
  html`<li><svg class=${`mark-name mark-${kind}`} aria-hidden="true" width="12" height="12" viewBox="-6 -6 12 12">
    <path d=${kind === 'decision' ? 'M0 -5L5 0L0 5L-5 0Z' : kind === 'buy' ? 'M0 -5L5 4H-5Z' : 'M0 5L5 -4H-5Z'} />
  </svg>${name}</li>`;
