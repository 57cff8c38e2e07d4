import type { Row } from "./facts.ts";
import { askSoftened } from "./rows/denylist.ts";
import { allowClassified, allowWithinDial, allowWithoutDial, allowYolo, askByNeed } from "./rows/dial.ts";
import {
  askAlwaysGated,
  askBySafety,
  askByStrictPolicy,
  askChangedDefinition,
  askUninspectable,
  pickOption,
} from "./rows/floors.ts";
import { allowByMode, allowListed, allowVouchedFor, askByRule } from "./rows/modes.ts";
import {
  allowNeverGated,
  denyByRule,
  denyDenylisted,
  denyKilledTool,
  denyMissingCapability,
  denyRepeatOfDenied,
  denyToolTurnedOff,
  denyUnofferedTool,
  holdKilledRun,
  refuseInvalidArguments,
} from "./rows/refuse.ts";
import type { RowName } from "./types.ts";

/** A row of the table by its name. */
export interface TableRow {
  readonly name: RowName;
  readonly row: Row;
}

/** Rows 10 to 14 and what the app softened of row 7: they ask under every dial, and a card must have shown each that holds. */
export const floors: readonly Row[] = [
  askSoftened,
  askAlwaysGated,
  askBySafety,
  askChangedDefinition,
  askByStrictPolicy,
  askUninspectable,
];

/** The decision table, in order. Row 24, which always matches, is left out. */
export const table: readonly TableRow[] = [
  { name: "1a", row: holdKilledRun },
  { name: "1b", row: denyKilledTool },
  { name: "2", row: refuseInvalidArguments },
  { name: "3", row: denyUnofferedTool },
  { name: "4", row: denyToolTurnedOff },
  { name: "4", row: allowNeverGated },
  { name: "5", row: denyMissingCapability },
  { name: "6", row: denyByRule },
  { name: "7", row: denyDenylisted },
  { name: "8", row: denyRepeatOfDenied },
  { name: "9", row: pickOption },
  { name: "7", row: askSoftened },
  { name: "10", row: askAlwaysGated },
  { name: "11", row: askBySafety },
  { name: "12", row: askChangedDefinition },
  { name: "13", row: askByStrictPolicy },
  { name: "14", row: askUninspectable },
  { name: "15", row: allowVouchedFor },
  { name: "16", row: allowByMode },
  { name: "17", row: allowListed },
  { name: "18", row: askByRule },
  { name: "19", row: askByNeed },
  { name: "20", row: allowWithoutDial },
  { name: "21", row: allowWithinDial },
  { name: "22", row: allowClassified },
  { name: "23", row: allowYolo },
];
