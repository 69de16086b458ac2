import { testTraderCrashes } from './crash-sweep.ts';

testTraderCrashes('one');
