import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import "./theme.css";
import "./base.css";
import "./parts/button.css";
import "./parts/table.css";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no #root to draw in");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
