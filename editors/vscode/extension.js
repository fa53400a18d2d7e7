// Starts `gclint server` for Python files and the Python cells of notebooks.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const server = { command: workspace.getConfiguration("gclint").get("path"), args: ["server"] };
  const documentSelector = [
    { scheme: "file", language: "python" },
    { scheme: "vscode-notebook-cell" }, // of any language: fixes of a notebook on save are asked for in its first cell
  ];
  client = new LanguageClient("gclint", server, { documentSelector });
  return client.start();
};

exports.deactivate = () => client?.stop();
