/** A run of characters of the same look. */
export interface Run {
  readonly text: string;
  /** The code of its colour (SGR 30 to 37 and 90 to 97), and whether it is dim. */
  readonly colour: number | undefined;
  readonly isDim: boolean;
}

/**
 * A terminal with what `fleet` and its prompts write: text, line breaks, colours, moves of the cursor, and erasing. Any other control
 * code is an error, so that no picture shows what a terminal would not.
 */
export function createTerminal() {
  const rows: Run[][] = [[]];
  let [row, column] = [0, 0];
  let look: Pick<Run, 'colour' | 'isDim'> = { colour: undefined, isDim: false };
  const at = (index: number): Run[] => {
    while (rows.length <= index) rows.push([]);
    return rows[index] ?? [];
  };
  const put = (text: string): void => {
    const cells = at(row);
    while (cells.length < column) cells.push({ text: ' ', colour: undefined, isDim: false });
    cells[column] = { text, ...look };
    column += 1;
  };
  const type = (text: string): void => {
    for (const sign of text)
      if (sign === '\r') column = 0;
      else if (sign === '\n') row += 1;
      else if (sign >= ' ') put(sign);
      else throw new Error(`the terminal does not know ${JSON.stringify(sign)}`);
  };
  const select = (codes: readonly number[]): void => {
    for (const code of codes) {
      if (code === 0) look = { colour: undefined, isDim: false };
      else if (code === 2) look = { ...look, isDim: true };
      else if (code === 22) look = { ...look, isDim: false };
      else if (code === 39) look = { ...look, colour: undefined };
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) look = { ...look, colour: code };
      else throw new Error(`the terminal does not know the look ${code}`);
    }
  };
  const control = (letter: string, numbers: readonly number[]): void => {
    const [first = 0] = numbers;
    const steps = Math.max(1, first);
    if (letter === 'm') select(numbers);
    else if (letter === 'A') row = Math.max(0, row - steps);
    else if (letter === 'B') row += steps;
    else if (letter === 'C') column += steps;
    else if (letter === 'D') column = Math.max(0, column - steps);
    else if (letter === 'G') column = steps - 1;
    else if (letter === 'K' && first === 2) at(row).length = 0;
    else if (letter === 'K' && first === 0) at(row).length = Math.min(at(row).length, column);
    else if (letter === 'J' && first === 0) {
      at(row).length = Math.min(at(row).length, column);
      rows.length = row + 1;
    } else throw new Error(`the terminal does not know the control code ${numbers.join(';')}${letter}`);
  };
  return {
    write(text: string): void {
      const [plain = '', ...rest] = text.split('\u001b');
      type(plain);
      for (const part of rest) {
        const [code = '', mark, numbers = '', letter = ''] = /^\[(\??)([\d;]*)([A-Za-z])/.exec(part) ?? [];
        // The picture has no cursor, so showing or hiding it changes nothing.
        const isOfCursor = mark === '?' && numbers === '25';
        if (!isOfCursor) control(letter, numbers.split(';').map(Number));
        type(part.slice(code.length));
      }
    },
    /** The rows as they are now, without spaces at their ends. */
    rows: (): Run[][] => rows.map(runsOf),
  };
}

function runsOf(cells: readonly Run[]): Run[] {
  const runs: Run[] = [];
  for (const cell of cells) {
    const last = runs.at(-1);
    if (last && last.colour === cell.colour && last.isDim === cell.isDim)
      runs[runs.length - 1] = { ...last, text: last.text + cell.text };
    else runs.push(cell);
  }
  const end = runs.at(-1);
  return end ? [...runs.slice(0, -1), { ...end, text: end.text.trimEnd() }] : [];
}
