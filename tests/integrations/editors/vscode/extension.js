// Works on train.py and run.ipynb as a person would, and writes to $SAID what the editor shows after every step.
const { renameSync, writeFileSync } = require("fs");
const { commands, languages, Position, Range, Uri, window, workspace, WorkspaceEdit } = require("vscode");

const said = {};
const argument = ", use_reentrant=False";

const one = (found) => found.length === 1;
const none = (found) => found.length === 0;

async function see(uri, step, wanted) {
  const end = Date.now() + 30000;
  const shown = () => languages.getDiagnostics(uri);
  while (!wanted(shown()) && Date.now() < end) await new Promise((done) => setTimeout(done, 50));
  said[step] = shown().map(({ range, code, message }) => [range.start.line + 1, range.start.character + 1, code, message]);
}

async function edit(uri, change) {
  const edit = new WorkspaceEdit();
  change(edit, uri);
  await workspace.applyEdit(edit);
}

async function drive() {
  const root = workspace.workspaceFolders[0].uri;
  const document = await workspace.openTextDocument(Uri.joinPath(root, "train.py"));
  const uri = document.uri;
  await window.showTextDocument(document);
  await see(uri, "opened", one);
  const at = document.positionAt(document.getText().indexOf("inner, x)") + "inner, x".length);
  await edit(uri, (made) => made.insert(uri, at, argument));
  await see(uri, "changed", none);
  await edit(uri, (made) => made.delete(uri, new Range(at, at.translate(0, argument.length))));
  await see(uri, "changed_back", one);
  const [page] = await commands.executeCommand("vscode.executeHoverProvider", uri, at);
  said.hover = page.contents[0].value.split("\n")[0];
  const actions = await commands.executeCommand("vscode.executeCodeActionProvider", uri, new Range(at, at));
  said.offered = actions.map((action) => action.title).filter((title) => title.startsWith("gclint"));
  await workspace.applyEdit(actions[0].edit);
  await see(uri, "fixed", none);
  await commands.executeCommand("undo");
  await see(uri, "undone", one);
  await document.save();
  await see(uri, "saved", none);

  const notebook = await workspace.openNotebookDocument(Uri.joinPath(root, "run.ipynb"));
  await window.showNotebookDocument(notebook);
  const cell = notebook.cellAt(1).document;
  await see(cell.uri, "cell_opened", one);
  await edit(cell.uri, (made) => made.insert(cell.uri, new Position(0, 0), "# now a line lower\n"));
  await see(cell.uri, "cell_changed", ([found]) => found && found.range.start.line === said.cell_opened[0][0]);
  await notebook.save();
  await see(cell.uri, "cell_saved", none);
}

exports.activate = () =>
  drive()
    .catch((error) => (said.error = String(error.stack)))
    .then(() => writeFileSync(`${process.env.SAID}.part`, JSON.stringify(said)))
    .then(() => renameSync(`${process.env.SAID}.part`, process.env.SAID));
