// A table that stays one for screen readers when narrow screens show it as cards: roles are written out, since
// `display: block` would take them away.
import type { ReactNode } from 'react';

export interface Column<T> {
  key: string;
  head: ReactNode;
  headHidden?: boolean; // said, not shown
  cell: (row: T) => ReactNode;
  className?: string;
  main?: boolean; // the row's name: a header cell, first on a card
}

interface TableProps<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string;
  rowClass?: (row: T) => string | undefined;
}

export function Table<T>({ caption, columns, rows, rowKey, rowClass }: TableProps<T>) {
  return (
    <div className="table-wrap">
      <table className="table" role="table">
        <caption className="sr-only">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th key={column.key} role="columnheader" scope="col" className={column.className}>
                {column.headHidden ? <span className="sr-only">{column.head}</span> : column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row" className={rowClass?.(row)}>
              {columns.map((column) =>
                column.main ? (
                  <th key={column.key} role="rowheader" scope="row" className={column.className}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td
                    key={column.key}
                    role="cell"
                    className={column.className}
                    data-label={!column.headHidden && typeof column.head === 'string' ? column.head : undefined}
                  >
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
