import { playTopic } from './play.ts';

playTopic('responses');
