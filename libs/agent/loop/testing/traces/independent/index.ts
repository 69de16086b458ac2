import type { Trace } from '../trace.ts';
import * as circleEdits from './circles-edits.ts';
import * as moreCircleEdits from './circles-edits-more.ts';
import * as circleLooks from './circles-looks.ts';
import * as more from './honest-more.ts';
import * as ops from './honest-ops.ts';
import * as moreOps from './honest-ops-more.ts';
import * as reading from './honest-reading.ts';
import * as moreReading from './honest-reading-more.ts';
import * as refactor from './honest-refactor.ts';
import * as moreRefactor from './honest-refactor-more.ts';
import * as team from './honest-team.ts';
import * as tests from './honest-tests.ts';
import * as tuning from './honest-tuning.ts';
import * as waiting from './honest-waiting.ts';
import * as writing from './honest-writing.ts';

const FILES: readonly object[] = [
  ...[circleEdits, moreCircleEdits, circleLooks, more, ops, moreOps, reading, moreReading],
  ...[refactor, moreRefactor, team, tests, tuning, waiting, writing],
];

/** Traces by an author who had not seen the detector. */
export const INDEPENDENT: readonly Trace[] = FILES.flatMap((file): Trace[] => Object.values(file).flat());
