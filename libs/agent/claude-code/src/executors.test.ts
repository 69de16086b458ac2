import { testExecutors } from '../testing/executor-sweep.ts';

testExecutors('one');
