import type { HoldMarks, MarkedMode } from '../hold-marks.ts';

/** Marks in memory, by concern and holder. */
export interface TestMarks extends HoldMarks {
  readonly marked: ReadonlyMap<string, MarkedMode>;
  /** Marks can be made. */
  works: boolean;
}

/** `earlier` are the marks of an earlier process, by concern. */
export function createTestMarks(earlier: Readonly<Record<string, MarkedMode>> = {}): TestMarks {
  const marked = new Map<string, MarkedMode>();
  const marks: TestMarks = {
    marked,
    works: true,
    found: (concernId) => earlier[concernId],
    mark: (concernId, holder, mode) => {
      if (marks.works) marked.set(`${concernId} ${holder}`, mode);
      return marks.works;
    },
    clear: (concernId, holder) => void marked.delete(`${concernId} ${holder}`),
  };
  return marks;
}
