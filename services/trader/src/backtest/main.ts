import { answer } from './answer.ts';

// Runs the backtest that the one argument asks for, and prints its answer on one line.
const { code, text } = answer(process.argv[2] ?? '{}', process.env);
process.stdout.write(`${text}\n`);
process.exitCode = code;
