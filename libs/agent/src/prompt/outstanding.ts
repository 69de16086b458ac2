import type { AnchoredFiles } from '@hermes-fleet/workspace';
import { PROGRESS_FILE, readProgress } from '../tools/progress-file.ts';
import { dataBlock, dataLine } from './data.ts';

const MAX_ITEMS = 8;
const MAX_ITEM_CHARS = 160;

/** What PROGRESS.json says is left to do; undefined where it names nothing. */
export async function outstandingWork(files: AnchoredFiles): Promise<string | undefined> {
  const found = await readProgress(files);
  if (found.kind === 'invalid') return `Outstanding work: ${PROGRESS_FILE} is there, and is not valid.`;
  const remaining = found.kind === 'progress' ? found.progress.remaining : [];
  const items = remaining.map((item) => dataLine(item, MAX_ITEM_CHARS)).filter((item) => item !== '');
  if (items.length === 0) return undefined;
  const lines = items.slice(0, MAX_ITEMS).map((item) => `- ${item}`);
  if (items.length > MAX_ITEMS) lines.push(`... and ${items.length - MAX_ITEMS} more`);
  return `Outstanding work, as ${PROGRESS_FILE} has it:\n${dataBlock(PROGRESS_FILE, lines)}`;
}
